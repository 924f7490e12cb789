"""HTTP/1.1 as a client, within bounds: `client` for event loops, `blocking_client` for threads, over the same requests and responses.

Neither follows redirects, keeps cookies, or takes proxies or credentials from the environment. Neither logs.
"""
