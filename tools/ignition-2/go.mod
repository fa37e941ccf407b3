module slipway.dev/tools/ignition-2

go 1.25.0

tool github.com/coreos/ignition/validate

require github.com/coreos/ignition v0.35.0

require (
	github.com/ajeddeloh/go-json v0.0.0-20230131223807-18775e0fb4fb // indirect
	github.com/coreos/go-semver v0.3.1 // indirect
	github.com/coreos/go-systemd v0.0.0-20190719114852-fd7a80b32e1f // indirect
	github.com/vincent-petithory/dataurl v1.0.0 // indirect
	go4.org v0.0.0-20201209231011-d4a079459e60 // indirect
)

// The last release of spec 2 has no go.mod: these are its packages under the names they have today.
replace (
	github.com/ajeddeloh/go-json => github.com/coreos/go-json v0.0.0-20230131223807-18775e0fb4fb
	github.com/coreos/go-systemd => github.com/coreos/go-systemd/v22 v22.7.0
)
