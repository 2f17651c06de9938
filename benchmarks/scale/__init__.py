"""Many cells: against liquidSVM, millions of rows, cell sizes, random chunks, gradient boosting."""
