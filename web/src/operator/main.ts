/** Starts the operator's page. */
