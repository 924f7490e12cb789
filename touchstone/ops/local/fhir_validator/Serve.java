import java.nio.file.Path;
import org.hl7.fhir.r5.utils.validation.constants.ReferenceValidationPolicy;
import org.hl7.fhir.utilities.http.ManagedWebAccess;
import org.hl7.fhir.utilities.npm.FilesystemPackageCacheManager;
import org.hl7.fhir.validation.ValidationEngine;
import org.hl7.fhir.validation.http.FhirValidatorHttpService;
import org.hl7.fhir.validation.service.StandAloneValidatorFetcher;

/**
 * Serves the official validator on loopback: java -Duser.home=HOME Serve.java PORT [PACKAGE#VERSION...]. It reads packages below HOME,
 * knows R4 and the named ones, and asks no network. It ends when its standard input does, so that it never outlives the program that holds the other end.
 */
public class Serve {
  public static void main(String[] arguments) throws Exception {
    ManagedWebAccess.setAccessPolicy(ManagedWebAccess.WebAccessPolicy.PROHIBITED);
    ValidationEngine engine =
        new ValidationEngine.ValidationEngineBuilder()
            .withVersion("4.0.1")
            .withNoTerminologyServer()
            .fromSource("hl7.fhir.r4.core#4.0.1");
    System.out.println("loaded R4");
    Path cache = Path.of(System.getProperty("user.home"), ".fhir", "packages");
    engine.setPcm(new FilesystemPackageCacheManager.Builder().withCacheFolder(cache.toString()).build());
    StandAloneValidatorFetcher fetcher = new StandAloneValidatorFetcher(engine.getPcm(), engine.getContext(), engine);
    fetcher.setReferencePolicy(ReferenceValidationPolicy.CHECK_TYPE_IF_EXISTS); // what the document itself can answer
    engine.setFetcher(fetcher);
    engine.setPolicyAdvisor(fetcher);
    engine.getContext().setLocator(fetcher);
    for (int index = 1; index < arguments.length; index++) {
      String[] named = arguments[index].split("#", 2);
      engine.loadPackage(named[0], named[1]);
      System.out.println("loaded R4 and " + index + " of " + (arguments.length - 1) + " guides");
    }
    engine.setDisplayWarnings(true); // a display that is not its code system's is a warning here, as it is to ours by default
    new FhirValidatorHttpService(engine, true, Integer.parseInt(arguments[0])).startServer();
    System.out.println("validator ready");
    while (System.in.read() >= 0) {
      // What comes is of no interest; that it ends is.
    }
    Runtime.getRuntime().halt(0); // exit() waits for the server, whose own stop leaves its threads alive
  }
}
