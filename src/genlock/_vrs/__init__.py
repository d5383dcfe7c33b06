"""VRS files: their bytes, records and layouts, read without the C++ library.

    chunks.py    the bytes of a recording that may be split over several files
    index.py     where each record is: from the index, or by walking the file
    file.py      a file's tags, streams and records; payloads, unpacked
    layout.py    DataLayout: the typed fields at the start of a payload
    content.py   RecordFormat: what else a payload holds, pictures or sound
    pixels.py    raw pictures as arrays
    stream.py    one stream of a file, in order of time

Read with NumPy, a million records of an inertial sensor are one gather instead of a million calls,
and a file is reached wherever its bytes are: on disk, behind a URL, in memory. The format is that
of github.com/facebookresearch/vrs (FileFormat.h, IndexRecord, DescriptionRecord, DataLayout,
RecordFormat), versions VRS1 to VRS3 of the file header.
"""
