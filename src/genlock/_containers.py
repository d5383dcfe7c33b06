"""Containers of video and audio by their first bytes, for all who must tell them apart."""

from __future__ import annotations

MAGIC = (
    b"\x1a\x45\xdf\xa3",  # Matroska
    b"\x00\x00\x01\xba",  # MPEG program stream
    b"\x30\x26\xb2\x75",  # ASF
    b"\x7f\xfe\x80\x01",  # DTS
    b"riff\x2e\x91\xcf\x11",  # W64
    b"#!AMR",
    b".snd",
    b"DKIF",
    b"FLV\x01",
    b"ID3",
    b"OggS",
    b"TTA1",
    b"caff",
    b"fLaC",
    b"wvpk",
)
FORM_TYPES = {b"RIFF": (b"AVI ", b"WAVE"), b"FORM": (b"AIFF", b"AIFC")}
"""What IFF and RIFF files of sound and video hold."""
PICTURE_BRANDS = (b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1")
"""Brands of ISO/IEC 14496-12 files that hold still pictures."""
TRANSPORT_PACKET = 188
SYNC = 0x47


def is_container(head: bytes) -> bool:
    """Whether a file starts as a container of video or audio does.

    head: its first bytes, at least 400 of them if there are as many.
    """
    if head[4:8] == b"ftyp":
        return head[8:12] not in PICTURE_BRANDS
    form = head[8:12] in FORM_TYPES.get(head[:4], ())
    return form or head.startswith(MAGIC) or _is_transport_stream(head)


def _is_transport_stream(head: bytes) -> bool:
    return len(head) > 2 * TRANSPORT_PACKET and all(
        head[at] == SYNC for at in range(0, 3 * TRANSPORT_PACKET, TRANSPORT_PACKET)
    )
