"""What drives the intake: a Faust agent (the default) or a plain fenced aiokafka loop."""
