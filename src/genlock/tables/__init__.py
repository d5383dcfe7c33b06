"""Tables in files: columns by name, exact times, and what a column's name says about it.

`files` opens a CSV, Parquet or NumPy file as a `Table`; `text` knows the dialects of delimited
text; `names` reads headers (units, time columns, poses, intervals); `times` turns a column into
int64 ns without losing a digit; `arrays` turns Arrow columns into NumPy arrays.
"""
