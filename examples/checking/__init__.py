"""How a printed worksheet is held against the engine.

| module | the question it answers |
| --- | --- |
| `sheet` | what does the worksheet print, and with which verdict? |
| `names` | which number does `dL/dWO[0][2]` or `100*P(A)` stand for? |
| `judge` | what is the right number, according to something that is not the engine? |
| `printed` | what follows from the author's own numbers? |
| `verdict` | does the engine bear the verdict out? |
| `errata` | which slips are there, and what followed from them? |
"""
