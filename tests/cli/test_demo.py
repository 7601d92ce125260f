import pytest

SIZE = ["--records", "2000"]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    import subprocess
    import sys

    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "varvite.cli", "demo", "there", *SIZE, "--seed", "3"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "there", done


def test_the_demo_tells_on_stdout_alone(played):
    _, done = played

    assert done.stderr == ""
    assert done.stdout.count("\n     select ") == 6


def test_the_demo_loses_nothing_that_was_promised(played):
    _, done = played

    assert "bytes of a torn batch cut off" in done.stdout
    assert done.stdout.count("everything that was promised is there") == 2
    assert "with one whole batch more" in done.stdout
    assert "a second writer meanwhile: spin-liquids is being written by pid" in done.stdout


def test_the_demo_ends_with_a_whole_store(played, varvite):
    varvite.store = played[0]

    assert varvite.json("verify") == []
    rows = varvite.json(
        "sql",
        "select session_id, count(*) = max(seq) as gapless from records group by all order by 1",
    )
    assert rows == [
        {"session_id": "sort-speed", "gapless": True},
        {"session_id": "spin-liquids", "gapless": True},
    ]


def test_the_demo_leaves_a_folder_alone_that_it_did_not_make(varvite, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")

    error = varvite.refused(8, "demo", tmp_path / "mine")

    assert error["code"] == "conflict"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_the_demo_empties_its_own_folder_of_what_it_made_alone(tmp_path):
    from varvite.cli.demo.folder import SEARCH, prepare

    folder = tmp_path / "demo"
    prepare(str(folder))
    (folder / SEARCH).mkdir()
    (folder / SEARCH / "events.ndjson").write_text("old")
    (folder / "notes.txt").write_text("keep me")

    prepare(str(folder))

    assert sorted(path.name for path in folder.iterdir()) == [".varvite-demo", "notes.txt"]


def test_the_demo_does_not_follow_a_link_out_of_its_folder(tmp_path):
    from varvite.cli.demo.folder import SEARCH, prepare

    folder, outside = tmp_path / "demo", tmp_path / "outside"
    prepare(str(folder))
    outside.mkdir()
    (outside / "precious").write_text("keep me")
    (folder / SEARCH).symlink_to(outside)

    prepare(str(folder))

    assert (outside / "precious").read_text() == "keep me"
    assert not (folder / SEARCH).exists()


@pytest.mark.parametrize("way", ["bubble", "insertion", "merge", "heap", "builtin"])
def test_each_way_to_sort_sorts(way):
    from varvite.cli.demo.sorts import WAYS

    values = [3.0, 1.0, 2.0, 1.0]

    assert list(WAYS[way](list(values))) == sorted(values)


def test_a_way_that_does_not_sort_is_found_out():
    from varvite.cli.demo.sorts import best_ms

    with pytest.raises(ValueError, match="hopeful does not sort"):
        best_ms("hopeful", 1)
