"""What the topics of a message log become: one file per kind of stream, and one table of types.

`kinds.make_topic` picks by the type of a topic's messages. The topic is a sink while the log is
scanned; then it describes itself as tracks: streams, and how to open cursors over their units.
"""
