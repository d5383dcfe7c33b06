"""Batches as JAX arrays, without a copy, through DLPack."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from common import FIELDS, make_windows

import genlock as gl


def main() -> None:
    with gl.Loader(make_windows(), FIELDS, batch_size=4) as loader:
        for batch in loader:
            arrays = {name: jax.dlpack.from_dlpack(value) for name, value in batch.items()}
            mean = jnp.mean(arrays["imu"])
            assert abs(float(mean) - float(batch["imu"].mean())) < 1e-4
    print({name: (value.shape, str(value.dtype)) for name, value in arrays.items()})


if __name__ == "__main__":
    main()
