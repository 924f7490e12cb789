"""Tables that clinical checks read: NOTICE.md names sources and licences."""
