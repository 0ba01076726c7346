cp greet.sh executable && chmod 755 executable
