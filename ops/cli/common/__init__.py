"""What commands share: options, errors, progress, terminals."""
