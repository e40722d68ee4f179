import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/** Keeps the last readings of many sensors and adds them up. */
public class Telemetry {
    record Reading(long time, String sensor, double value) {}

    static double consume(int readings) {
        ArrayDeque<Reading> window = new ArrayDeque<>();
        Map<String, Double> totals = new HashMap<>();
        for (int i = 0; i < readings; i++) {
            Reading reading = new Reading(i, "sensor-" + i % 1000, i % 97);
            window.add(reading);
            if (window.size() > 350_000)
                window.poll();
            totals.merge(reading.sensor(), reading.value(), Double::sum);
        }
        return totals.values().stream().mapToDouble(Double::doubleValue).sum();
    }

    public static void main(String[] arguments) {
        System.out.println(consume(Integer.parseInt(arguments[0])));
    }
}
