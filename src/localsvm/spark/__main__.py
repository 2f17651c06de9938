"""`python -m localsvm.spark`, and the file to give to spark-submit."""

# By its full name: spark-submit runs this file by its path, not as a part of the package.
from localsvm.spark.application import main

if __name__ == "__main__":
    main()
