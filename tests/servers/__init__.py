"""Real servers for the tests: installed once into `.servers/`, started on free ports with temporary data."""
