def test_a_bucket_is_opened_once_and_listed_with_what_it_lacks(varvite, response):
    varvite.json("graph", "open", "s", "--create")
    given = ("Claims", "--term", "claim a", "--term", "tunnelling", "--id", "claims")
    first = varvite.json("graph", "buckets", "open", "s", *given)
    again = varvite.json("graph", "buckets", "open", "s", *given)
    varvite.json("graph", "submit", "--session", "s", response)

    (bucket,) = varvite.json("graph", "buckets", "list", "s")
    assert again == first
    assert (bucket["id"], bucket["nodes"], bucket["coverage_status"]) == ("claims", 2, "thin")
    assert {"kind": "term", "term": "tunnelling"} in bucket["open_gaps"]


def test_a_bucket_that_is_open_and_means_something_else_is_refused(varvite):
    varvite.json("graph", "open", "s", "--create")
    varvite.json("graph", "buckets", "open", "s", "Claims", "--term", "one")

    error = varvite.refused(8, "graph", "buckets", "open", "s", "Claims", "--term", "other")

    assert error["code"] == "state_conflict"
