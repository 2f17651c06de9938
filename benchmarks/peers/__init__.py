"""localsvm beside what people use now: same splits, same machine, each program in an environment of its own."""
