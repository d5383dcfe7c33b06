"""One file per modality: units in, rows out."""
