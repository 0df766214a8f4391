#!/usr/bin/env bash
# planted.sh SARDONYX_PLANTED CHECKER GRAPHS [SUITE...]: every planted bug makes a plan of these random graphs that the
# checker refuses. With suites (folders of backend tests), also how many of the bugs these tests notice.
set -euo pipefail
planted=$1 checker=$2 graphs=$3
shift 3
bugs=0 accepted=0 noticed=0
while read -r bug; do
  bugs=$((bugs + 1))
  status=0
  # In growing pieces: most bugs show soon, some in one of a thousand graphs.
  first=1 count=100
  while [ $status -eq 0 ] && [ "$first" -le "$graphs" ]; do
    SARDONYX_PLANTED=$bug "$planted" plans "$first" "$count" | "$checker" --quiet - > /dev/null || status=$?
    first=$((first + count)) count=$((count * 3))
  done
  [ $status -eq 1 ] || { echo "ACCEPTED: $bug"; accepted=$((accepted + 1)); }
  if [ $# -gt 0 ]; then
    if SARDONYX_PLANTED=$bug timeout 600 "$planted" test "$@" --quiet --threads 1 > /dev/null 2>&1; then
      echo "unnoticed by the suites: $bug"
    else
      noticed=$((noticed + 1))
    fi
  fi
done < <("$planted" bugs)
echo "$bugs planted bugs, $((bugs - accepted)) refused by the checker"
if [ $# -gt 0 ]; then echo "the suites notice $noticed of them"; fi
[ "$bugs" -ge 30 ] && [ "$accepted" -eq 0 ]
