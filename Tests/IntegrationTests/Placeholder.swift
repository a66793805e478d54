enum IntegrationTestsPlaceholder {}
