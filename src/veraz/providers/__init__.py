"""Ports: small protocols, each with adapters in a folder of its own. Nothing here opens a database connection.

Nothing that is brought in reports to its makers. onnxruntime does by default since 1.29, from its import on, hence here. Who
wants that sets the variable to 0.
"""

import os

for _variable in ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY"):
    os.environ.setdefault(_variable, "1")
