"""The job `recluster`: communities over all that was found, held against the buckets of today."""

from varvite.checkpoints.job import Job, Parameter, Stage
from varvite.checkpoints.recluster import comparing, grouping, proposing

JOB = Job(
    "recluster",
    "Which parts does the field fall into by itself, and which buckets should merge, split, "
    "or be called something else?",
    stages=(
        Stage("link", grouping.link, ("cluster_nodes", "cluster_links")),
        Stage("group", grouping.group, ("communities",)),
        Stage("compare", comparing.compare, ("proposals", "moves", "exemplars", "cluster_merges")),
        Stage("place", comparing.place, ("placements",)),
    ),
    kind="graph",
    parameters={
        "method": Parameter(
            grouping.AUTO,
            "leiden needs the extra `communities`; auto falls back to components",
            choices=(grouping.AUTO, grouping.LEIDEN, grouping.COMPONENTS),
        ),
        "components": Parameter(
            grouping.AUTO,
            "how components are found; sql is the same on every engine",
            choices=(grouping.AUTO, grouping.SQL, grouping.ARRAYS),
        ),
        "seed": Parameter(1, "the same seed gives the same communities", 0, 2**53),
        "resolution": Parameter(1.5, "more of it gives smaller communities", 0.001, 1000.0),
        "links": Parameter(
            8, "on each side of a variable, others tied to it by one thing in common", 1, 64
        ),
        "least": Parameter(5, "variables from which a community or a part counts", 2, 1_000_000),
        "merge_share": Parameter(
            0.6, "of a bucket, from which it belongs to the community that others lie in", 0.5, 1.0
        ),
        "split_share": Parameter(0.25, "of a bucket, from which a part may be one", 0.01, 0.5),
        "rename_below": Parameter(
            0.2,
            "of a bucket's texts that have a word of its label, where it says too little",
            0.0,
            1.0,
        ),
    },
    proposals=proposing.proposals,
)
