import Transport

/// Reads the credentials again when one of their files has changed, and when it is asked to.
///
/// Files are looked at on a thread of their own, since they may be far away. What cannot be used is logged, and the
/// former credentials stay. Confined to the worker's loop.
package final class CredentialWatch {
    /// How often the files are looked at.
    private static let interval: Duration = .seconds(3)
    /// How often it is said that a certificate ends.
    private static let certificateInterval: Int64 = 86_400

    /// What a look at the files gave.
    private enum Look: Sendable {
        case unchanged
        case read(CredentialSource.Reading, Result<[PreparedCredential], PreparationFailed>)
    }

    /// Why credentials that were read cannot be used.
    private struct PreparationFailed: Error {
        let text: String
    }

    private let source: CredentialSource
    private let extraCA: [UInt8]?
    private let routes: Routes
    private let loop: EventLoop
    private let log: Log
    private let side: SideThread
    private var reading: CredentialSource.Reading
    private var saidWarnings: Set<String>
    private var timer: LoopTimer?
    private var isLooking = false
    /// Asked for while a look was on its way.
    private var isAskedFor = false
    private var certificatesSaidAt: Int64
    private var isClosed = false

    init(_ settings: Settings, routes: Routes, loop: EventLoop, log: Log) throws(TransportError) {
        source = settings.credentialSource
        reading = settings.firstReading
        extraCA = settings.extraCA
        saidWarnings = Set(settings.warnings)
        certificatesSaidAt = loop.unixMilliseconds / 1000
        self.routes = routes
        self.loop = loop
        self.log = log
        side = try SideThread(named: "credentials")
    }

    package func start() {
        loop.preconditionOnLoop()
        look(isAsked: false)
    }

    package func close() {
        isClosed = true
        timer?.cancel()
        timer = nil
    }

    /// Reads all credentials now, and says in the log what came of it.
    package func readAgain() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        guard !isLooking else {
            isAskedFor = true
            return
        }
        look(isAsked: true)
    }

    private func look(isAsked: Bool) {
        timer?.cancel()
        isLooking = true
        let (source, extraCA, last, now) = (source, extraCA, reading, loop.unixMilliseconds / 1000)
        side.run({ Self.look(source, extraCA, since: isAsked ? nil : last, now) }, on: loop) { [weak self] look in
            self?.looked(look, isAsked: isAsked)
        }
    }

    /// On the side thread.
    private static func look(
        _ source: CredentialSource,
        _ extraCA: [UInt8]?,
        since last: CredentialSource.Reading?,
        _ now: Int64
    ) -> Look {
        if let last, !last.isOutdated { return .unchanged }
        let reading = source.read(unixSeconds: now)
        do {
            return .read(
                reading,
                .success(try reading.credentials.map { try PreparedCredential($0, extraCA: extraCA) })
            )
        } catch {
            return .read(reading, .failure(PreparationFailed(text: "\(error)")))
        }
    }

    private func looked(_ look: Look, isAsked: Bool) {
        isLooking = false
        guard !isClosed else { return }
        if case .read(let reading, let prepared) = look {
            self.reading = reading
            take(reading, prepared, isAsked: isAsked)
        }
        sayEnds()
        if isAskedFor {
            isAskedFor = false
            return self.look(isAsked: true)
        }
        guard !reading.files.isEmpty else { return }
        timer = loop.schedule(after: Self.interval) { [weak self] in self?.look(isAsked: false) }
    }

    private func take(
        _ reading: CredentialSource.Reading,
        _ prepared: Result<[PreparedCredential], PreparationFailed>,
        isAsked: Bool
    ) {
        var problems = reading.problems
        if problems.isEmpty, case .failure(let failure) = prepared { problems = [failure.text] }
        for problem in problems {
            log.error("credentials cannot be read again; the former ones stay in use", ["problem": problem])
        }
        guard problems.isEmpty, case .success(let credentials) = prepared else { return }
        for warning in reading.warnings where saidWarnings.insert(warning).inserted {
            log.warning("a credential should be looked after", ["warning": warning])
        }
        saidWarnings.formIntersection(reading.warnings)
        let isChanged = routes.replace(by: credentials)
        if isAsked, !isChanged { log.info("credentials were read again, and nothing has changed") }
    }

    /// Says once a day which certificates end soon, or have ended.
    private func sayEnds() {
        let now = loop.unixMilliseconds / 1000
        guard now - certificatesSaidAt >= Self.certificateInterval else { return }
        certificatesSaidAt = now
        for credential in routes.credentials {
            guard case .apnsCertificate(let certificate) = credential.kind else { continue }
            if let problem = certificate.problem(unixSeconds: now) {
                log.error("an APNs certificate cannot be used", ["certificate": certificate.name, "problem": problem])
            } else if let warning = certificate.warning(unixSeconds: now) {
                log.warning("an APNs certificate ends soon", ["certificate": certificate.name, "warning": warning])
            }
        }
    }
}
