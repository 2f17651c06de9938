"""Set before scipy is imported: scikit-learn's checks of array API input are skipped without it."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")
