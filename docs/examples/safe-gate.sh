#!/usr/bin/env bash
# Gate a change on SAFE v0: score a concern's batches once, keep every report, and pass or fail by the share of Pass labels.
#
#   safe-gate.sh DATA_DIR CONCERN [BATCH_PATTERN] [MIN_PASS_RATE] [REPORT_DIR]
#
# Exit codes: 0 the gate passes, 1 it does not, 3 something could not be scored or is configured wrongly.
set -euo pipefail

data=${1:?directory with <concern>/<batch>.json or .jsonl}
concern=${2:?concern id}
batch=${3:-*}
min_pass_rate=${4:-0.8}
report_dir=${5:-safe-reports}

# The command's exit code is the verdict, so it must not end this script before the reports are handed over.
code=0
touchstone safe score --data "$data" --concern "$concern" --batch "$batch" \
  --format all --output "$report_dir" --min-pass-rate "$min_pass_rate" || code=$?

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  # A summary above 1 MiB is refused as a whole.
  newest=$(find "$report_dir" -name 'SAFE_v0_*.md' | sort | tail -n 1)
  if [ -n "$newest" ]; then
    head -c 900000 "$newest" >>"$GITHUB_STEP_SUMMARY"
  fi
fi
exit "$code"
