"""Coverage-guided fuzzing with atheris, as long as one likes: `make fuzz`."""
