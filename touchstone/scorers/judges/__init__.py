"""Language models as judges. `ask`: what suites use. `serve`: how one server is asked. `settings`: of both."""
