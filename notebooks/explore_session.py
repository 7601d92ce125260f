import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Explore a session")


@app.cell
def _():
    import os
    import tempfile
    from pathlib import Path

    import altair as alt
    import marimo as mo

    import varvite

    return Path, alt, mo, os, tempfile, varvite


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    # Explore a session

    Each table below is one SQL statement on `store.connect()`: a DuckDB connection that
    shows the store as it was when this notebook was run. The store is `$VARVITE_STORE`,
    else the demo's (`varvite demo`), else a small sample that is made now.
    """)
    return


@app.cell
def _(Path, os, tempfile, varvite):
    def sample():
        from varvite.samples import search

        made = varvite.open(tempfile.mkdtemp(prefix="varvite-sample-"))
        with made.graph("sample", create=True, title="A small sample") as session:
            given = [response.payload() for response in search.responses(1, 3000)]
            for first in range(0, len(given), 8):
                session.submit(given[first : first + 8])
        return made

    beside = Path(__file__).parents[1] / "varvite-demo"
    named = os.environ.get("VARVITE_STORE") or (str(beside) if beside.is_dir() else None)
    store = varvite.open(named) if named else sample()
    engine = store.connect()
    return engine, store


@app.cell
def _(engine, mo):
    sessions = mo.sql(
        f"""
        select session_id, kind, title, cursor, status, created_at
        from sessions
        order by session_id
        """,
        engine=engine,
    )
    return (sessions,)


@app.cell
def _(mo, sessions):
    graphs = sessions.filter(sessions["kind"] == "graph")["session_id"].to_list()
    chosen = mo.ui.dropdown(graphs, value=graphs[0] if graphs else None, label="graph session")
    chosen
    return (chosen,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Is the search running dry?

    A hit is new when its variable was never seen before. Where the new ones get few, more
    of the same queries bring little.
    """)
    return


@app.cell
def _(chosen, engine, mo):
    growth = mo.sql(
        f"""
        select
            part,
            count(*) as hits,
            count(*) filter ("count" = 1) as new,
            100.0 * count(*) filter ("count" = 1) / count(*) as new_percent
        from (
            select "count", ntile(20) over (order by seq) as part
            from sightings
            where session_id = '{chosen.value}'
        )
        group by part
        order by part
        """,
        engine=engine,
        output=False,
    )
    return (growth,)


@app.cell
def _(alt, growth):
    chart = (
        alt.Chart(growth)
        .mark_line(point=True)
        .encode(
            x=alt.X("part:O", title="twentieth of the session"),
            y=alt.Y("new_percent:Q", title="hits never seen before, %", scale={"zero": True}),
            tooltip=["part", "hits", "new"],
        )
        .properties(height=240, width="container")
    )
    chart
    return (chart,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## What comes again and again
    """)
    return


@app.cell
def _(chosen, engine, mo):
    claims = mo.sql(
        f"""
        select
            max(s."count") as appearances,
            min(s.rank) as best_rank,
            any_value(n.title) as title,
            any_value(n.content) as claim
        from sightings as s
        join nodes as n on n.session_uid = s.session_uid and n.id = s.node_id
        where s.session_id = '{chosen.value}'
        group by s.node_id
        order by appearances desc, best_rank
        limit 10
        """,
        engine=engine,
    )
    return (claims,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Calls and what they cost in failures
    """)
    return


@app.cell
def _(chosen, engine, mo):
    calls = mo.sql(
        f"""
        select status, code, message, count(*) as calls, sum(new_nodes)::bigint as new_nodes
        from frontier
        where session_id = '{chosen.value}'
        group by all
        order by calls desc
        """,
        engine=engine,
    )
    return (calls,)


if __name__ == "__main__":
    app.run()
