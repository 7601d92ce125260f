"""SQL answers as files of their own: Parquet and the Arrow stream."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


WRITERS: dict[str, Callable[[pa.Table], bytes]] = {"parquet": parquet, "arrow": arrow}
