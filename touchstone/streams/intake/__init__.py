"""Records in, outcomes sent, offsets acknowledged; knows neither Faust nor a consumer."""
