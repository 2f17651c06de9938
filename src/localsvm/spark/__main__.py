"""`python -m localsvm.spark`; the file that `spark-submit` is given: `spark-submit $(python -m localsvm.spark path) train ...`."""

# Absolute: spark-submit runs this file by its path, not as a part of the package.
from localsvm.spark.application import main

if __name__ == "__main__":
    main()
