"""Reports as tables, files and pictures, for the terminal and for papers."""
