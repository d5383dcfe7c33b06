"""One file per container or layout: paths in, streams and units out."""
