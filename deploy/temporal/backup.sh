#!/bin/sh
# Usage: backup.sh DIRECTORY. Writes both databases of Temporal into it. Stop Temporal before: two databases that are
# dumped one after the other fit together only while nobody writes.
#
# Environment: PGHOST, PGPORT, PGUSER and PGPASSWORD (or PGPASSFILE); perhaps POSTGRES_DATABASE and
# POSTGRES_VISIBILITY_DATABASE.
set -eu
# The histories are nobody else's.
umask 077
mkdir -p "$1"

pg_dump --format=custom --no-owner --file="$1/workflows.dump" "${POSTGRES_DATABASE:-temporal}"
pg_dump --format=custom --no-owner --file="$1/visibility.dump" "${POSTGRES_VISIBILITY_DATABASE:-temporal_visibility}"
