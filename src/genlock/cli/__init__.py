"""`genlock`: look at recordings, check them, time them, from a terminal.

| module        | command   | does                                                     |
|---------------|-----------|----------------------------------------------------------|
| `info.py`     | `info`    | streams, clocks, spans, codecs, calibration; packets     |
| `checking.py` | `check`   | what is wrong with recordings, and what to do            |
| `preview.py`  | `preview` | one look at a recording, as HTML or PNG                  |
| `bench.py`    | `bench`   | how fast a recording loads here, and what holds it up    |
| `indexing.py` | `index`   | open recordings once, so that they open at once later    |
| `demo.py`     | `demo`    | load a recording, train a small model on it              |
| `_output.py`  |           | tables, JSON, colours, exit codes                        |
"""

from genlock.cli._app import app, main

__all__ = ["app", "main"]
