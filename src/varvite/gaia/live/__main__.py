"""Started by path, under an interpreter that has Gaia: no import of the project reaches here."""

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location

NAME = "varvite_gaia_live"


def main() -> None:
    sys.dont_write_bytecode = True  # of ours, which may lie where we must not write
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = spec_from_file_location(
        NAME, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None  # noqa: S101
    assert spec.loader is not None  # noqa: S101
    package = module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != folder]
    from varvite_gaia_live.serving import serve  # type: ignore[import-not-found]

    sys.dont_write_bytecode = False
    serve()


if __name__ == "__main__":
    main()
