"""`python -m localsvm.spark`, and the file to pass to spark-submit."""

# By its full name: spark-submit runs this file by its path, not as part of the package.
from localsvm.spark.application import main

if __name__ == "__main__":
    main()
