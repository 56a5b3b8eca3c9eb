// Reads the pages that Seine sends to a Kafka topic; prints one JSON object a page, each page once,
// and one for each that is gone.
//
//     java -cp 'kafka/libs/*' Pages.java localhost:9092 pages my-group               # goes on until Ctrl-C
//     java -cp 'kafka/libs/*' Pages.java localhost:9092 pages my-group --until-end   # stops behind the last message
//
// Needs Java 17 (a JDK), kafka-clients and jackson-databind; the libs folder of a Kafka download has both.
// Understands every kafka.format: the header `schema` says which one a message has.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

public class Pages {
    static final ObjectMapper JSON = new ObjectMapper();
    static final PrintStream OUT =
        new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    static final Pattern IN_HEADER = Pattern.compile("charset\\s*=\\s*[\"']?([^\\s;\"'>]+)", Pattern.CASE_INSENSITIVE);
    static final Pattern IN_META =
        Pattern.compile("<meta[^>]+charset\\s*=\\s*[\"']?([^\\s;\"'/>]+)", Pattern.CASE_INSENSITIVE);
    static final Pattern TITLE =
        Pattern.compile("<title[^>]*>(.*?)</title>", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    // What browsers read as windows-1252.
    static final Set<String> LATIN = Set.of("iso-8859-1", "latin1", "us-ascii", "ascii");

    /** The last event ids. Seine delivers at least once: after a crash or an outage an event can come again. */
    static class Seen extends LinkedHashMap<String, Boolean> {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
            return size() > 100_000;
        }

        boolean isNew(String eventId) {
            return putIfAbsent(eventId, true) == null;
        }
    }

    /** A page; content is null where the format has no bytes, text where it is no text. */
    record Page(String url, String contentType, byte[] content, String text) {}

    static Page pageOf(String schema, byte[] value) throws IOException {
        JsonNode document = JSON.readTree(value);
        switch (schema) {
            case "files":
                byte[] content = document.get("content").binaryValue(); // decodes the base64
                String contentType = document.get("content_type").asText("");
                return new Page(document.get("url").asText(), contentType, content, textOf(content, contentType));
            case "cdr-3.1":
                return new Page(document.get("url").asText(), document.get("content_type").asText(), null,
                    document.get("raw_content").asText());
            case "elastic":
                return new Page(document.get("url").asText(), document.get("contentType").asText(""), null,
                    document.get("html").textValue());
            default:
                throw new IOException("the schema " + schema + " is not known here");
        }
    }

    /** The body as text, in the charset of its header, else of its meta element, else UTF-8. Null for what is no text. */
    static String textOf(byte[] content, String contentType) {
        String mediaType = contentType.split(";")[0].strip().toLowerCase(Locale.ROOT);
        if (!mediaType.startsWith("text/") && !mediaType.endsWith("xml") && !mediaType.endsWith("json")) {
            return null;
        }
        String start = new String(content, 0, Math.min(content.length, 1024), StandardCharsets.ISO_8859_1);
        Matcher inHeader = IN_HEADER.matcher(contentType);
        Matcher inMeta = IN_META.matcher(start);
        String charset = inHeader.find() ? inHeader.group(1) : inMeta.find() ? inMeta.group(1) : "utf-8";
        if (LATIN.contains(charset.toLowerCase(Locale.ROOT))) {
            charset = "windows-1252";
        }
        try {
            return new String(content, Charset.forName(charset));
        } catch (IllegalArgumentException unknown) {
            return new String(content, StandardCharsets.UTF_8);
        }
    }

    static void show(ConsumerRecord<String, byte[]> message, String eventId) throws IOException {
        Page page = pageOf(header(message, "schema"), message.value());
        Matcher title = TITLE.matcher(page.text() == null ? "" : page.text());
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("event_id", eventId);
        shown.put("url", page.url());
        shown.put("status", Integer.parseInt(header(message, "status")));
        shown.put("content_type", page.contentType());
        shown.put("bytes", page.content() == null ? null : page.content().length);
        shown.put("characters", page.text() == null ? null : page.text().codePointCount(0, page.text().length()));
        shown.put("title", title.find() ? title.group(1).strip() : null);
        OUT.println(JSON.writeValueAsString(shown));
    }

    /** Of a page that is gone there is no value, or a change event: the key and the headers say it all. */
    static void showGone(ConsumerRecord<String, byte[]> message, String eventId) throws IOException {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("event_id", eventId);
        shown.put("url", URLDecoder.decode(message.key(), StandardCharsets.UTF_8));
        shown.put("gone", header(message, "reason"));
        OUT.println(JSON.writeValueAsString(shown));
    }

    static String header(ConsumerRecord<String, byte[]> message, String name) {
        return new String(message.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }

    static boolean isAtEnd(KafkaConsumer<?, ?> consumer) {
        var ends = consumer.endOffsets(consumer.assignment());
        return !ends.isEmpty() && ends.entrySet().stream().allMatch(it -> consumer.position(it.getKey()) >= it.getValue());
    }

    public static void main(String[] arguments) throws IOException {
        boolean untilEnd = arguments.length > 3 && arguments[3].equals("--until-end");
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", arguments[0],
            "group.id", arguments[2],
            "auto.offset.reset", "earliest",
            // Offsets are committed only once their pages are dealt with: see commitSync.
            "enable.auto.commit", "false");
        Seen seen = new Seen();
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
            Thread main = Thread.currentThread();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                consumer.wakeup();
                try {
                    main.join();
                } catch (InterruptedException ignored) {
                    // The machine is in a hurry: what was not committed comes again.
                }
            }));
            consumer.subscribe(List.of(arguments[1]));
            while (!untilEnd || !isAtEnd(consumer)) {
                for (ConsumerRecord<String, byte[]> message : consumer.poll(Duration.ofSeconds(1))) {
                    String eventId = header(message, "event_id");
                    boolean saysChange = message.headers().lastHeader("change") != null;
                    String change = saysChange ? header(message, "change") : "";
                    // A page that is in another partition now is not gone: its message there says what it is.
                    if (change.equals("moved") || !seen.isNew(eventId)) {
                        continue;
                    }
                    if (change.equals("gone")) {
                        showGone(message, eventId);
                    } else {
                        show(message, eventId);
                    }
                }
                consumer.commitSync();
            }
        } catch (WakeupException end) {
            // Ctrl-C.
        }
    }
}
