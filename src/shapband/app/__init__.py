"""The application: the configuration file (`config`) and the command line (`cli`)."""
