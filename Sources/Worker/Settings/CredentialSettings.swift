import Encoding
import Transport

/// Reads the credentials that the settings name: those of the credentials file, then the single variables.
enum CredentialSettings {
    /// The credentials for the gateways of a scope, in the order in which they are looked at.
    static func read(_ reader: inout SettingsReader, scope: Setting.Scope) -> [Credential] {
        var credentials: [Credential] = []
        if !scope.isDisjoint(with: Setting.credentials.scope) { credentials += CredentialsFile.read(&reader) }
        if scope.contains(.apns) {
            apnsKey(&reader).map { credentials.append($0) }
            apnsCertificate(&reader).map { credentials.append($0) }
        }
        if scope.contains(.fcm) { serviceAccount(&reader).map { credentials.append($0) } }
        return credentials
    }

    // MARK: APNs key

    /// All of its three parts, or none.
    private static func apnsKey(_ reader: inout SettingsReader) -> Credential? {
        let isKeySet = reader.isSet(.apnsKey)
        let value = reader.value(of: .apnsKey)
        let key = value.flatMap { reader.signingKey($0) }
        let givenID = reader.parse(.apnsKeyID, identifier)
        let keyID = givenID ?? value?.path.flatMap(APNsCredential.keyID(inPath:))
        let teamID = reader.parse(.apnsTeamID, identifier)
        guard isKeySet else {
            complain(&reader, about: .apnsKey, besides: [.apnsKeyID, .apnsTeamID])
            return nil
        }
        if keyID == nil, !reader.isSet(.apnsKeyID), value != nil {
            let hint = value?.path == nil ? "" : ", or name the file AuthKey_<ID>.p8 as Apple does"
            reader.add(problem: "\(Setting.apnsKeyID.variable) is missing: an APNs key needs it\(hint)")
        }
        if teamID == nil, !reader.isSet(.apnsTeamID) {
            reader.add(problem: "\(Setting.apnsTeamID.variable) is missing: an APNs key needs it")
        }
        guard let key, let keyID, let teamID else { return nil }
        let credential = APNsCredential(key: key, keyID: keyID, teamID: teamID)
        return Credential(.apnsKey(credential), origin: Setting.apnsKey.variable, isFallback: true)
    }

    /// Says that a setting is missing which others are of no use without.
    private static func complain(_ reader: inout SettingsReader, about missing: Setting, besides others: [Setting]) {
        let set = others.filter { reader.isSet($0) }.map(\.variable)
        guard !set.isEmpty else { return }
        let verb = set.count == 1 ? "is" : "are"
        reader.add(
            problem: "\(missing.variable) is missing, while \(set.joined(separator: " and ")) \(verb) set; "
                + "it may be \(missing.allowed), or \(missing.fileVariable) names that file"
        )
    }

    private static func identifier(_ text: String) throws(SettingsReader.Unfit) -> String {
        guard APNsCredential.isIdentifier(text) else { throw .init() }
        return text
    }

    // MARK: APNs certificate

    private static func apnsCertificate(_ reader: inout SettingsReader) -> Credential? {
        let password = reader.value(of: .apnsCertificatePassword)
        guard reader.isSet(.apnsCertificate) else {
            complain(&reader, about: .apnsCertificate, besides: [.apnsCertificatePassword])
            return nil
        }
        guard let value = reader.value(of: .apnsCertificate) else { return nil }
        let hint = "\(Setting.apnsCertificatePassword.fileVariable) names the file with its password"
        let certificate = reader.certificate(
            value,
            password: password.map(SettingsReader.password),
            passwordHint: hint,
            pathHint: SettingsReader.pathHint(String(decoding: value.bytes, as: UTF8.self), setting: .apnsCertificate)
        )
        return certificate.map {
            Credential(.apnsCertificate($0), origin: Setting.apnsCertificate.variable, isFallback: true)
        }
    }

    // MARK: FCM

    /// The setting, or the file that Google's own variable names.
    private static func serviceAccount(_ reader: inout SettingsReader) -> Credential? {
        let setting = Setting.fcmServiceAccount
        guard let value = reader.isSet(setting) ? reader.value(of: setting) : reader.applicationCredentials() else {
            return nil
        }
        let hint = SettingsReader.pathHint(String(decoding: value.bytes, as: UTF8.self), setting: setting)
        guard let account = reader.serviceAccount(value, pathHint: hint) else { return nil }
        return Credential(.fcm(account), origin: setting.variable, isFallback: true)
    }
}

extension SettingsReader {
    /// The APNs key in a value; nil when there is none, which has been complained about then.
    mutating func signingKey(_ value: Value) -> SigningKey? {
        do {
            return try SigningKey(value.bytes, .es256)
        } catch {
            let hint = Self.pathHint(String(decoding: value.bytes, as: UTF8.self), setting: .apnsKey)
            add(problem: "\(described(value)) \(hint ?? error.description); it may be \(Setting.apnsKey.allowed)")
            return nil
        }
    }

    /// The certificate with its key in a value; nil when there is none, which has been complained about then.
    mutating func certificate(
        _ value: Value,
        password: [UInt8]?,
        passwordHint: String,
        pathHint: String? = nil
    ) -> APNsCertificate? {
        let certificate: APNsCertificate
        do {
            certificate = try APNsCertificate(value.bytes, password: password)
        } catch .passwordMissing {
            add(problem: "\(described(value)): the certificate is protected by a password; \(passwordHint)")
            return nil
        } catch {
            let reason = pathHint.map { "\(described(value)) \($0)" } ?? "\(described(value)): the certificate \(error)"
            add(problem: "\(reason); it may be \(Setting.apnsCertificate.allowed)")
            return nil
        }
        let name = "\(described(value)): the certificate \(Printable.value(certificate.name))"
        if let problem = certificate.problem(unixSeconds: unixSeconds) {
            add(problem: "\(name) \(problem)")
            return nil
        }
        if let warning = certificate.warning(unixSeconds: unixSeconds) { add(warning: "\(name) \(warning)") }
        return certificate
    }

    /// The service account in a value; nil when there is none, which has been complained about then.
    mutating func serviceAccount(_ value: Value, pathHint: String? = nil) -> FCMServiceAccount? {
        do {
            return try FCMServiceAccount(json: value.bytes)
        } catch {
            for reason in pathHint.map({ [$0] }) ?? error.reasons { add(problem: "\(described(value)) \(reason)") }
            return nil
        }
    }

    /// A password as it was meant: that of a file without the line break at its end.
    static func password(_ value: Value) -> [UInt8] {
        var bytes = value.bytes[...]
        guard value.path != nil else { return value.bytes }
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        return Array(bytes)
    }

    /// A value's place and, if it has one, its file.
    func described(_ value: Value) -> String {
        value.path.map { "\(value.place) (the file \(Self.shown($0)))" } ?? value.place
    }
}
