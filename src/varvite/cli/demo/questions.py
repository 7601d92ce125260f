"""Six questions to the demo's store, each with its SQL."""

from typing import NamedTuple

from varvite.cli.answer import Answer, show_text
from varvite.cli.demo.stage import Stage
from varvite.store import Store


class Question(NamedTuple):
    text: str
    sql: str


QUESTIONS = (
    Question(
        "What is in the store?",
        """select session_id, kind, cursor, status, title
from sessions order by session_id""",
    ),
    Question(
        "Is anything missing? Sequence numbers have no gap, whatever was killed.",
        """select session_id, count(*) as records, min(seq) as first, max(seq) as last
from records group by session_id order by session_id""",
    ),
    Question(
        "Is the search running dry? Share of hits never seen before, by sixths of the session.",
        """select part, count(*) as hits,
    round(100.0 * count(*) filter ("count" = 1) / count(*), 1) as new_percent
from (select "count", ntile(6) over (order by seq) as part from sightings)
group by part order by part""",
    ),
    Question(
        "Which claims come again and again?",
        """select n.content[:60] as claim, max(s."count") as appearances, min(s.rank) as best_rank
from sightings as s join nodes as n on n.id = s.node_id and n.session_id = s.session_id
where n.node_kind = 'variable'
group by n.id, claim order by appearances desc, best_rank, n.id limit 5""",
    ),
    Question(
        "Which calls failed, and were tried again?",
        """select status, code, message, count(*) as calls, count(retry_of) as retries
from frontier group by all order by calls desc""",
    ),
    Question(
        "What did the experiment learn?",
        """select ordinal, description, status, round(metric, 3) as ms,
    round(min(metric) filter (kept) over (order by ordinal), 3) as best_so_far
from runs order by ordinal""",
    ),
)


def ask(stage: Stage, store: Store) -> None:
    for question in QUESTIONS:
        result = store.sql(question.sql)
        indented = question.sql.replace("\n", "\n     ")
        show_text(f"\n   {question.text}\n\n     {indented}\n\n")
        stage.show(Answer(result.columns, result.rows()))
