#!/bin/sh
# Usage: restore.sh DIRECTORY. Makes POSTGRES_DATABASE and POSTGRES_VISIBILITY_DATABASE, which must not exist yet, from
# what backup.sh wrote into it. Then start Temporal with these two.
#
# Environment: PGHOST, PGPORT, PGUSER and PGPASSWORD (or PGPASSFILE), and the two databases.
set -eu

restore() {
  createdb "$2"
  pg_restore --exit-on-error --no-owner --dbname="$2" "$1"
  # Temporal looks the version of its schema up by the name of the database.
  psql --quiet --set=ON_ERROR_STOP=1 --dbname="$2" \
    --command='UPDATE schema_version SET db_name = current_database()'
}

restore "$1/workflows.dump" "$POSTGRES_DATABASE"
restore "$1/visibility.dump" "$POSTGRES_VISIBILITY_DATABASE"
