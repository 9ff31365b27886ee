#!/usr/bin/env bash
# The first requests: an account, a key, an animal, the list. Usage: examples/curl/quickstart.sh [address ending in /v1]
set -euo pipefail
BASE=${1:-http://localhost:3000/v1}
EMAIL=grace-$(date +%s%N)@example.com
PASSWORD='correct horse battery'
JSON='Content-Type: application/json'

# A redirect is a failure too: a POST that follows it becomes a GET.
call() { curl --fail-with-body -sS --max-time 15 --location --max-redirs 0 "$@"; }

echo 'An account'
call "$BASE/accounts" -H "$JSON" -d "{\"email\":\"$EMAIL\",\"password\":\"$PASSWORD\"}"

printf '\n\nAn API key, which is shown only this once\n'
ANSWER=$(call "$BASE/api-keys" -u "$EMAIL:$PASSWORD" -H "$JSON" -d '{"name":"Quickstart"}')
API_KEY=$(sed 's/.*"key":"\([^"]*\)".*/\1/' <<<"$ANSWER")
echo "${API_KEY:0:8}…"

printf '\nAn animal; with its Idempotency-Key, this can be retried without adding a second one\n'
call "$BASE/pets" -H "Authorization: Bearer $API_KEY" -H "$JSON" \
  -H "Idempotency-Key: $(date +%s%N)" --retry 3 --retry-connrefused \
  -d '{"name":"Luna","categoryId":2,"status":"available"}'

printf '\n\nThe first page of what is available; the Link header has the address of the next one\n'
call -D - "$BASE/pets?status=available&limit=10" -H "Authorization: Bearer $API_KEY"
echo
