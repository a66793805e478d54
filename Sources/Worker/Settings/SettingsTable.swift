/// All settings, in the order in which people read them.
package enum SettingsTable {
    package static let all: [Setting] = [
        .redisURL, .prefix, .channels, .debugChannel, .debug,
        .apnsKey, .apnsKeyID, .apnsTeamID, .apnsCertificate, .apnsCertificatePassword,
        .apnsDefaultTopic, .apnsDefaultEnvironment, .apnsProductionURL, .apnsDevelopmentURL,
        .fcmServiceAccount, .fcmURL, .ca, .httpAddress, .subscribeKey, .publishKey, .secretKey,
        .credentials, .removalBrake, .removedEvents, .drainSeconds, .log, .logFormat,
    ]

    /// Every name of an environment variable that means something.
    package static let variables: [String] = all.flatMap { [$0.variable, $0.fileVariable] }

    /// The setting of a flag without hyphens, and whether the flag names a file.
    package static func setting(forFlag flag: String) -> (setting: Setting, isFile: Bool)? {
        for setting in all {
            if setting.flag == flag { return (setting, false) }
            if setting.fileFlag == flag { return (setting, true) }
        }
        return nil
    }

    /// Names that Kubernetes makes for a service called pushbridge.
    package static func isMadeByKubernetes(_ variable: String) -> Bool {
        guard variable.hasPrefix(Setting.variablePrefix) else { return false }
        let name = variable.dropFirst(Setting.variablePrefix.count)
        if name == "PORT" || name.hasPrefix("SERVICE_") { return true }
        guard name.hasPrefix("PORT_") else { return false }
        let rest = name.dropFirst("PORT_".count)
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        return !digits.isEmpty && rest.dropFirst(digits.count).hasPrefix("_")
    }
}

extension Setting {
    package static let redisURL = Setting(
        "REDIS_URL",
        "URL",
        standard: "redis://127.0.0.1:6379",
        allowed:
            "redis://host:port, rediss://host:port (TLS), unix:///path or redis+sentinel://host,host/name, "
            + "with user:password@ and /database if needed",
        summary:
            "where Redis is; `rediss://` is TLS, `unix://` a socket, `redis+sentinel://host,host/name` asks sentinels",
        scope: .redis
    )
    package static let prefix = Setting(
        "PREFIX",
        "TEXT",
        standard: "push:",
        allowed: "a text without braces and control characters",
        summary: "what all Redis keys begin with",
        scope: .redis
    )
    package static let channels = Setting(
        "CHANNELS",
        "PATTERNS",
        standard: "*",
        allowed: "patterns of Redis channels with commas between, as shop.*,news",
        summary: "patterns of the channels to listen to, with commas between",
        scope: .ingest
    )
    package static let debugChannel = Setting(
        "DEBUG_CHANNEL",
        "CHANNEL",
        standard: "pndebug",
        allowed: "a channel name, or one with a text before or after {channel}",
        summary: "where traces are published; `{channel}` stands for the message's channel",
        scope: .traces
    )
    package static let debug = Setting(
        "DEBUG",
        "MODE",
        standard: "on",
        allowed: "on, short (device tokens shortened) or off",
        summary: "traces: `on`, `short` (device tokens shortened), `off`",
        scope: .traces
    )
    package static let apnsKey = Setting(
        "APNS_KEY",
        "TEXT",
        allowed: "the text of the .p8 file from Apple, with real line breaks, with \\n, in one line or as base64",
        summary: "the `.p8` key: line breaks, `\\n`, one line or base64 alike",
        scope: .apns,
        isSecret: true
    )
    package static let apnsKeyID = Setting(
        "APNS_KEY_ID",
        "ID",
        standard: "from the name of the key's file, `AuthKey_<ID>.p8`",
        allowed: "the 10 letters and digits that Apple shows beside the key",
        summary: "the key's ID at Apple",
        scope: .apns
    )
    package static let apnsTeamID = Setting(
        "APNS_TEAM_ID",
        "ID",
        allowed: "the 10 letters and digits of the team, from Apple's membership page",
        summary: "the team's ID at Apple",
        scope: .apns
    )
    package static let apnsCertificate = Setting(
        "APNS_CERTIFICATE",
        "TEXT",
        allowed: "a certificate from Apple with its key: a .p12 (in a file, or as base64), or PEM",
        summary: "certificate with its key for `auth_method` `cert`: `.p12` or PEM; its topics are read from it",
        scope: .apns,
        isSecret: true
    )
    package static let apnsCertificatePassword = Setting(
        "APNS_CERTIFICATE_PASSWORD",
        "TEXT",
        allowed: "the password of the .p12 or of the PEM's key",
        summary: "the certificate's password",
        scope: .apns,
        isSecret: true
    )
    package static let apnsDefaultTopic = Setting(
        "APNS_DEFAULT_TOPIC",
        "TOPIC",
        allowed: "a bundle ID of 1 to 255 letters, digits, dots, hyphens and underscores",
        summary: "the topic of messages without `pn_push`",
        scope: .apns
    )
    package static let apnsDefaultEnvironment = Setting(
        "APNS_DEFAULT_ENVIRONMENT",
        "NAME",
        standard: "development",
        allowed: "development or production",
        summary: "the environment of messages without `pn_push`",
        scope: .apns
    )
    package static let apnsProductionURL = Setting(
        "APNS_PRODUCTION_URL",
        "URL",
        standard: "https://api.push.apple.com",
        allowed: "https://host or https://host:port",
        summary: "APNs, production",
        scope: .apns
    )
    package static let apnsDevelopmentURL = Setting(
        "APNS_DEVELOPMENT_URL",
        "URL",
        standard: "https://api.sandbox.push.apple.com",
        allowed: "https://host or https://host:port",
        summary: "APNs, development",
        scope: .apns
    )
    package static let fcmServiceAccount = Setting(
        "FCM_SERVICE_ACCOUNT",
        "JSON",
        standard: "the file named by `GOOGLE_APPLICATION_CREDENTIALS`",
        allowed: "the JSON text of a service account's key file",
        summary: "the service account's JSON",
        scope: .fcm,
        isSecret: true
    )
    package static let fcmURL = Setting(
        "FCM_URL",
        "URL",
        standard: "https://fcm.googleapis.com",
        allowed: "https://host or https://host:port",
        summary: "FCM",
        scope: .fcm
    )
    package static let ca = Setting(
        "CA",
        "PEM",
        standard: "the system's",
        allowed: "the text of certificates in PEM (-----BEGIN CERTIFICATE-----)",
        summary: "more trusted CA certificates (PEM), for Redis and providers",
        scope: [.redis, .apns, .fcm]
    )
    package static let httpAddress = Setting(
        "HTTP_ADDRESS",
        "ADDRESS",
        standard: "127.0.0.1:8080",
        allowed: "address:port, [IPv6 address]:port or off",
        summary: "where `/healthz` and `/readyz` are, or `off`",
        scope: .http
    )
    package static let subscribeKey = Setting(
        "SUBSCRIBE_KEY",
        "KEY",
        allowed: "a PubNub subscribe key",
        summary: "PubNub interface",
        scope: .http,
        isSupported: false
    )
    package static let publishKey = Setting(
        "PUBLISH_KEY",
        "KEY",
        allowed: "a PubNub publish key",
        summary: "PubNub interface",
        scope: .http,
        isSupported: false
    )
    package static let secretKey = Setting(
        "SECRET_KEY",
        "KEY",
        allowed: "a PubNub secret key",
        summary: "PubNub interface",
        scope: .http,
        isSecret: true,
        isSupported: false
    )
    package static let credentials = Setting(
        "CREDENTIALS",
        "FILE",
        allowed: "the path of a JSON file with an array of credentials, or that JSON text",
        summary:
            "a JSON file with several credentials, see docs/credentials.md; single ones are for what it has none for",
        scope: [.apns, .fcm]
    )
    package static let removalBrake = Setting(
        "REMOVAL_BRAKE",
        "SHARE",
        standard: "0.2",
        allowed: "a number from 0 to 1",
        summary: "the share of doubtful answers above which removals by them stop",
        scope: .process
    )
    package static let removedEvents = Setting(
        "REMOVED_EVENTS",
        "NUMBER",
        standard: "0",
        allowed: "a whole number from 0 (off) to 10000000",
        summary: "how many removals the stream `P{events}:removed` tells of; 0: none",
        scope: .process
    )
    package static let drainSeconds = Setting(
        "DRAIN_SECONDS",
        "SECONDS",
        standard: "25",
        allowed: "a whole number of seconds from 0 to 3600",
        summary: "how long a stop waits for pushes in flight",
        scope: .process
    )
    package static let log = Setting(
        "LOG",
        "LEVEL",
        standard: "info",
        allowed: "debug, info, warning or error",
        summary: "what is logged: `debug`, `info`, `warning`, `error`",
        scope: .log
    )
    package static let logFormat = Setting(
        "LOG_FORMAT",
        "FORMAT",
        standard: "text",
        allowed: "text or json",
        summary: "`text` or `json`",
        scope: .log
    )
}
