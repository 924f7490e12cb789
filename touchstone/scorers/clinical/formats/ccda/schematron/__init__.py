"""ISO Schematron without XSLT: rules indexed by the template ids of their contexts, and evaluated only where those occur."""
