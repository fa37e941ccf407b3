#!/bin/sh
# Terminates every workflow of Slipway that runs in restored databases. It ran when the backup was made, and does not
# know what its machine has done since. The controllers start what is missing again, from what the Nodes say.
# Nothing else may reach this Temporal server until it is done.
#
# Environment: PGHOST, PGPORT, PGUSER and PGPASSWORD (or PGPASSFILE), POSTGRES_DATABASE, and what the Temporal CLI
# reads: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE (slipway) and its certificates, or a profile.
set -eu
export TEMPORAL_NAMESPACE="${TEMPORAL_NAMESPACE:-slipway}"

# Not from visibility, which may lag behind.
running=$(
  psql --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 --set=name="$TEMPORAL_NAMESPACE" \
    --dbname="$POSTGRES_DATABASE" <<'SQL'
SELECT workflow_id FROM current_executions JOIN namespaces ON namespaces.id = namespace_id
WHERE namespaces.name = :'name' AND current_executions.status = 1;
SQL
)
for id in $running; do
  temporal workflow terminate --workflow-id "$id" --reason 'restored from a backup'
done
