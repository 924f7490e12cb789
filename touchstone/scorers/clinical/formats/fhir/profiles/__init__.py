"""Profiles of installed FHIR packages (US Core and others): loaded, compiled and checked."""
