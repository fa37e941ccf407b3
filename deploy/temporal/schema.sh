#!/bin/sh
# Creates Temporal's two databases where they are missing, and brings their schemas to the version of temporal-sql-tool.
# Safe to run again; run it before every upgrade of the server.
#
# Environment: POSTGRES_HOST (host:port), POSTGRES_USER, POSTGRES_PASSWORD; perhaps POSTGRES_DATABASE,
# POSTGRES_VISIBILITY_DATABASE, POSTGRES_CA (a PEM file, which turns TLS on) and POSTGRES_MAINTENANCE_DATABASE.
set -eu

export SQL_PLUGIN=postgres12_pgx
export SQL_HOST="${POSTGRES_HOST%:*}"
export SQL_PORT="${POSTGRES_HOST##*:}"
export SQL_USER="$POSTGRES_USER"
# Not as an argument: those can be seen by every user of the machine.
export SQL_PASSWORD="$POSTGRES_PASSWORD"
if [ -n "${POSTGRES_CA:-}" ]; then
  export SQL_TLS=true SQL_TLS_CA_FILE="$POSTGRES_CA"
fi

bring_up_to_date() {
  temporal-sql-tool --db "$1" create-database --defaultdb "${POSTGRES_MAINTENANCE_DATABASE:-postgres}"
  temporal-sql-tool --db "$1" setup-schema --version 0.0
  temporal-sql-tool --db "$1" update-schema --schema-name "postgresql/v12/$2"
}

bring_up_to_date "${POSTGRES_DATABASE:-temporal}" temporal
bring_up_to_date "${POSTGRES_VISIBILITY_DATABASE:-temporal_visibility}" visibility
